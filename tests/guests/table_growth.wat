;; Grows a table for as long as it is let, as soon as it is instantiated, and then insists on more. Put into an honest module,
;; it makes that module hostile.
(component
  (core module $growth
    (table 1 funcref)
    (func $grow
      (loop $again
        (br_if $again (i32.ne (table.grow (ref.null func) (i32.const 1000)) (i32.const -1))))
      unreachable)
    (start $grow))
  (core instance (instantiate $growth)))
