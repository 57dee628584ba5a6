;; Wants more memory than anybody is given, before it has done anything. Put into an honest module, it makes that module
;; hostile.
(component
  (core module $greedy
    (memory 16384))
  (core instance (instantiate $greedy)))
