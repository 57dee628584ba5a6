;; Was built for a contract that is not there yet.
(component
  (import "gateway:connector/http@2.0.0" (instance (export "send" (func)))))
