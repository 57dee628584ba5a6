;; Grows a table when it is instantiated, until the sandbox refuses, and then traps. A test adds it to an honest module.
(component
  (core module $growth
    (table 1 funcref)
    (func $grow
      (loop $again
        (br_if $again (i32.ne (table.grow (ref.null func) (i32.const 1000)) (i32.const -1))))
      unreachable)
    (start $grow))
  (core instance (instantiate $growth)))
