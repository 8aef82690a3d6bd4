import { POSTGRES_FUNCTIONS, POSTGRES_STEPS } from '../../src/storage/postgres/schema.ts'
import { SQLITE_STEPS } from '../../src/storage/sqlite/schema.ts'

/** The steps of a version that comes later: a column, a table that is filled from what is there, and all functions anew. */
export const LATER_POSTGRES: readonly string[] = [
  ...POSTGRES_STEPS,
  `
ALTER TABLE $s.tokens ADD COLUMN later text;
UPDATE $s.tokens SET later = id;
CREATE TABLE $s.notes (token text PRIMARY KEY, note text);
INSERT INTO $s.notes SELECT id, output FROM $s.tokens;
${POSTGRES_FUNCTIONS}`,
]

export const LATER_SQLITE: readonly string[] = [
  ...SQLITE_STEPS,
  `
  ALTER TABLE tokens ADD COLUMN later TEXT;
  UPDATE tokens SET later = id;
  CREATE TABLE notes (token TEXT PRIMARY KEY, note TEXT) WITHOUT ROWID;
  INSERT INTO notes SELECT id, output FROM tokens;
  `,
]
