# Completion of svmx-checkdata for fish, made by tools/command_pages.py
complete -c svmx-checkdata -l lenient -d 'ignore blank lines and comment lines'
complete -c svmx-checkdata -l report -r -F -d 'write a report of results and times, as JSON'
complete -c svmx-checkdata -l help -d 'help'
complete -c svmx-checkdata -l version -d 'version'
