;; A component for a version of the contract that does not exist.
(component
  (import "gateway:connector/http@2.0.0" (instance (export "send" (func)))))
