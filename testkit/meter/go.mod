module edge-health/testkit/meter

go 1.24
