"""What is tested: the contract every ledger meets, and the ledgers behind it."""
