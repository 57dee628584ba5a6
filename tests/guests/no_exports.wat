;; A component that is not a connector.
(component)
