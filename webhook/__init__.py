"""The admission webhook: AdmissionReview in, decision out. Reaches neither numpy nor the API server."""
