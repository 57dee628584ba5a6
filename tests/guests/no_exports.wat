;; Is a component, and no connector.
(component)
