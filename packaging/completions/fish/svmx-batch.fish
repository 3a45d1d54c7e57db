# Completion of svmx-batch for fish, made by tools/command_pages.py
complete -c svmx-batch -l jobs -x -d 'number of commands run in parallel'
complete -c svmx-batch -l stop -d 'begin no other command when one has failed'
complete -c svmx-batch -l report -r -F -d 'write a report of results and times, as JSON'
complete -c svmx-batch -l help -d 'help'
complete -c svmx-batch -l version -d 'version'
