# Completion of svmx-compress for fish, made by tools/command_pages.py
complete -c svmx-compress -l max-sv -x -d 'keep at most N support vectors'
complete -c svmx-compress -l tol -x -d 'or: as few as possible with a bound of at most X'
complete -c svmx-compress -l threads -x -d 'threads to use'
complete -c svmx-compress -l report -r -F -d 'write a report of results and times, as JSON'
complete -c svmx-compress -l help -d 'help'
complete -c svmx-compress -l version -d 'version'
