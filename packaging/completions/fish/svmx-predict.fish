# Completion of svmx-predict for fish, made by tools/command_pages.py
complete -c svmx-predict -s b -x -a '0'\n'1' -d 'probability estimates, for a model trained with -b 1'
complete -c svmx-predict -s q -d 'quiet'
complete -c svmx-predict -l threads -x -d 'threads to use'
complete -c svmx-predict -l unlabeled -d 'lines of the test file have no label'
complete -c svmx-predict -l lenient -d 'skip blank lines and comment lines in the data'
complete -c svmx-predict -l report -r -F -d 'write a report of results and times, as JSON'
complete -c svmx-predict -l help -d 'help'
complete -c svmx-predict -l version -d 'version'
