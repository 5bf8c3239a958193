//! Why a Pod may or may not go to a node: every term of the decision.
