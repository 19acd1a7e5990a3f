\set id 1 + :client_id % 5
BEGIN;
SELECT balance FROM accounts WHERE id = :id;
UPDATE accounts SET balance = balance - 1 WHERE id = :id;
INSERT INTO accounts (id, v) VALUES (10, 1) ON CONFLICT (id) DO UPDATE SET v = accounts.v + 1;
COMMIT;
