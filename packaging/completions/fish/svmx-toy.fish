# Completion of svmx-toy for fish, made by tools/command_pages.py
complete -c svmx-toy -l port -x -d 'of the page'
complete -c svmx-toy -l no-browser -d 'only print the address'
complete -c svmx-toy -l features -x -d 'of data_file, the indices of two features instead of …'
complete -c svmx-toy -l example -x -d 'to begin with: moons'
complete -c svmx-toy -l idle -x -d 'end when no page has been open for so long, 0 for never'
complete -c svmx-toy -l report -r -F -d 'write what was done and what it took, as JSON'
complete -c svmx-toy -l help -d 'help'
complete -c svmx-toy -l version -d 'version'
