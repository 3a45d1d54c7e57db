# Completion of svmx-subset for fish, made by tools/command_pages.py
complete -c svmx-subset -s s -x -a '0'\n'1' -d '0|1'
complete -c svmx-subset -l random-state -x -d 'draw the same lines every time'
complete -c svmx-subset -l lenient -d 'leave out blank lines and comment lines instead of refusing …'
complete -c svmx-subset -l report -r -F -d 'write a report of results and times, as JSON'
complete -c svmx-subset -l help -d 'help'
complete -c svmx-subset -l version -d 'version'
