# Completion of svmx-toy for fish, made by tools/command_pages.py
complete -c svmx-toy -l port -x -d 'port of the page'
complete -c svmx-toy -l no-browser -d 'only print the address'
complete -c svmx-toy -l features -x -d 'indices of two features of data_file instead of principal …'
complete -c svmx-toy -l example -x -d 'initial rows: moons'
complete -c svmx-toy -l idle -x -d 'exit when no page has been open for that time, 0 for never'
complete -c svmx-toy -l report -r -F -d 'write a report of results and times, as JSON'
complete -c svmx-toy -l help -d 'help'
complete -c svmx-toy -l version -d 'version'
