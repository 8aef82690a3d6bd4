import { metadata, task } from '@trigger.dev/sdk'

type Value = Parameters<typeof metadata.set>[1]
type Change =
  | ['set' | 'append' | 'remove', key: string, value: Value]
  | ['increment' | 'decrement', key: string, by?: number]
  | ['del', key: string]

/** Changes its metadata one by one, by keys and by paths, and tells what is left of it. */
export const changed = task({
  id: 'metadata-paths',
  retry: { maxAttempts: 1 },
  run: async ({ changes }: { changes: Change[] }) => {
    for (const change of changes)
      switch (change[0]) {
        case 'set':
          metadata.set(change[1], change[2])
          break
        case 'append':
          metadata.append(change[1], change[2])
          break
        case 'remove':
          metadata.remove(change[1], change[2])
          break
        case 'increment':
          metadata.increment(change[1], change[2])
          break
        case 'decrement':
          metadata.decrement(change[1], change[2])
          break
        case 'del':
          metadata.del(change[1])
      }
    return metadata.current()
  },
})
