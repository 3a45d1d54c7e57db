# Completion of svmx-export for fish, made by tools/command_pages.py
complete -c svmx-export -l format -x -a 'c'\n'json'\n'onnx' -d 'by default what output_file ends with, .json or .onnx, else …'
complete -c svmx-export -l dtype -x -a 'float64'\n'float32' -d 'numbers of tables and sums in C and ONNX'
complete -c svmx-export -l name -x -d 'functions in C are NAME_predict, NAME_decision_values, …'
complete -c svmx-export -l features -x -d 'rows have N features'
complete -c svmx-export -l report -r -F -d 'write a report of results and times, as JSON'
complete -c svmx-export -l help -d 'help'
complete -c svmx-export -l version -d 'version'
