;; Wants more memories than a slot of the sandbox has. Put into an honest module, it makes that module hostile.
(component
  (core module $greedy
    (memory 1))
  (core instance (instantiate $greedy)) (core instance (instantiate $greedy)) (core instance (instantiate $greedy))
  (core instance (instantiate $greedy)) (core instance (instantiate $greedy)) (core instance (instantiate $greedy)))
