SELECT * FROM accounts WHERE id = 1
UPDATE accounts SET balance = balance - 10 WHERE id = 1
INSERT INTO accounts (id, balance) VALUES (6, 7) RETURNING id, balance
INSERT INTO accounts (id, balance) VALUES (6, 8) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance
INSERT INTO accounts (id) VALUES (6)
BEGIN
SELECT id, balance FROM accounts ORDER BY id
SAVEPOINT a
DELETE FROM accounts WHERE id IN (2, 3)
SELECT id FROM accounts WHERE id IN (1, 2, 3, 4, 5, 6) ORDER BY id
ROLLBACK TO SAVEPOINT a
UPDATE accounts SET name = 'é' WHERE id > 3 RETURNING name, id
COMMIT
SELECT id FROM accounts WHERE id IN (1, 2, 3, 4, 99) ORDER BY id
BEGIN
SELECT nothing FROM accounts
ROLLBACK
SELECT count(*), sum(balance) FROM accounts
WITH d AS (DELETE FROM accounts WHERE id = 5 RETURNING id) SELECT * FROM d
SELECT a.id, b.id FROM accounts a LEFT JOIN accounts b ON b.id = a.id + 3 ORDER BY a.id
SELECT v FROM accounts WHERE id = 5
DELETE FROM accounts WHERE id = 6
SELECT v FROM accounts WHERE id = 6
