// Written by `npm run records` from src/contract, and not to be edited.
import { numberOf, orNull, type Row, textOf, textsColumn, textsOf, type Value } from '../contract/columns.ts'
import type { TokenRecord } from '../contract/records.ts'
import { keyIn } from './parts.ts'

/** A record that no other code has seen yet. */
export type TokenDraft = { -readonly [Field in keyof TokenRecord]: TokenRecord[Field] }

/** The columns that make a token. */
export const TOKEN_COLUMNS =
  'id, kind, status, output, timeout_at, tags, key_scope, key_value, key_expires_at, run_id, created_at, completed_at, question, answered'

/** The token of a row. */
export function tokenOfRow(row: Row): TokenRecord {
  return {
    id: row['id'] as TokenRecord['id'], kind: row['kind'] as TokenRecord['kind'],
    status: row['status'] as TokenRecord['status'], outputJson: textOf(row['output']),
    timeoutAt: numberOf(row['timeout_at']), tags: textsOf(row['tags']),
    key: keyIn(row['key_scope'], row['key_value'], row['key_expires_at']), runId: textOf(row['run_id']),
    createdAt: row['created_at'] as TokenRecord['createdAt'], completedAt: numberOf(row['completed_at']),
    questionJson: textOf(row['question']), answeredJson: textOf(row['answered']),
  }
}

/** The values of `TOKEN_COLUMNS`. */
export function tokenValues(record: TokenRecord): readonly Value[] {
  return [
    record.id, record.kind, record.status, orNull(record.outputJson), orNull(record.timeoutAt),
    textsColumn(record.tags), orNull(record.key?.scope), orNull(record.key?.value), orNull(record.key?.expiresAt),
    orNull(record.runId), record.createdAt, orNull(record.completedAt), orNull(record.questionJson),
    orNull(record.answeredJson),
  ]
}

export const SQLITE_TOKEN_TABLE = `
  kind TEXT NOT NULL, status TEXT NOT NULL, output TEXT, timeout_at NUMERIC, tags TEXT, key_scope TEXT,
  key_value TEXT, key_expires_at NUMERIC, run_id TEXT, created_at NUMERIC NOT NULL, completed_at NUMERIC,
  question TEXT, answered TEXT`
export const POSTGRES_TOKEN_TABLE = `
  kind text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL, output text, timeout_at float8, tags text,
  tag_list text[] COLLATE "C", key_scope text COLLATE "C", key_value text COLLATE "C", key_expires_at float8,
  run_id text COLLATE "C", created_at float8 NOT NULL, completed_at float8, question text, answered text`

/** A copy of a token, without room for what only some tokens have if it has none of that. */
export function tokenDraft(record: TokenRecord): TokenDraft {
  const draft: TokenDraft = {
    id: record.id, kind: record.kind, status: record.status, outputJson: record.outputJson,
    timeoutAt: record.timeoutAt, tags: record.tags, key: record.key, runId: record.runId, createdAt: record.createdAt,
    completedAt: record.completedAt,
  }
  if (record.questionJson !== undefined) draft.questionJson = record.questionJson
  if (record.answeredJson !== undefined) draft.answeredJson = record.answeredJson
  return draft
}
