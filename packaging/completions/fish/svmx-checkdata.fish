# Completion of svmx-checkdata for fish, made by tools/command_pages.py
complete -c svmx-checkdata -l lenient -d 'take no notice of blank lines and of comment lines'
complete -c svmx-checkdata -l report -r -F -d 'write what was found and what it took, as JSON'
complete -c svmx-checkdata -l help -d 'help'
complete -c svmx-checkdata -l version -d 'version'
