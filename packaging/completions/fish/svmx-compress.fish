# Completion of svmx-compress for fish, made by tools/command_pages.py
complete -c svmx-compress -l max-sv -x -d 'keep at most N support vectors'
complete -c svmx-compress -l tol -x -d 'or: as few as keep the bound at X or below'
complete -c svmx-compress -l threads -x -d 'threads to use'
complete -c svmx-compress -l report -r -F -d 'write what was done and what it took, as JSON'
complete -c svmx-compress -l help -d 'help'
complete -c svmx-compress -l version -d 'version'
