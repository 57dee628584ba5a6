;; Imports an interface that no contract has.
(component
  (import "example:host/shell@1.0.0" (instance (export "run" (func (param "command" string))))))
