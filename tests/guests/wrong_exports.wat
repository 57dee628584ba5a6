;; Has the names of a connector's exports, with other types.
(component
  (core module $module
    (func (export "describe") (result i32) (i32.const 7)))
  (core instance $instance (instantiate $module))
  (func $describe (result u32) (canon lift (core func $instance "describe")))
  (export "describe" (func $describe))
  (export "invoke" (func $describe)))
