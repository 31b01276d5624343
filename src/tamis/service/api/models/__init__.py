"""Models of requests and answers, which OpenAPI describes; a module a subject."""
