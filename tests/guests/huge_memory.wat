;; Declares more memory than the sandbox gives. A test adds it to an honest module.
(component
  (core module $greedy
    (memory 16384))
  (core instance (instantiate $greedy)))
