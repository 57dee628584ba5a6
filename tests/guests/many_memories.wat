;; Declares more memories than a slot of the sandbox has. A test adds it to an honest module.
(component
  (core module $greedy
    (memory 1))
  (core instance (instantiate $greedy)) (core instance (instantiate $greedy)) (core instance (instantiate $greedy))
  (core instance (instantiate $greedy)) (core instance (instantiate $greedy)) (core instance (instantiate $greedy)))
