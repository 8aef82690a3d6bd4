import type { SqliteSession } from './session.ts'

/** Where the tags of records are found by tag. */
export type TagTable = 'run_tags' | 'token_tags'

const OWNERS: Readonly<Record<TagTable, string>> = { run_tags: 'run', token_tags: 'token' }

/** Lists a record under its tags. */
export function addTags(
  { database }: SqliteSession,
  table: TagTable,
  { id, tags }: { readonly id: string; readonly tags: readonly string[] },
): void {
  for (const tag of new Set(tags)) {
    database.run(`INSERT INTO ${table} (tag, ${OWNERS[table]}) VALUES (?, ?)`, tag, id)
  }
}

/** A record is no longer found by these tags, which were all it had. */
export function dropTags(
  { database }: SqliteSession,
  table: TagTable,
  { id, tags }: { readonly id: string; readonly tags: readonly string[] },
): void {
  for (const tag of tags) {
    database.run(`DELETE FROM ${table} WHERE tag = ? AND ${OWNERS[table]} = ?`, tag, id)
  }
}
