import type { KeyFree, KeyFreed } from '../../../../src/contract/storage.ts'
import { turn } from '../../../support/turn.ts'
import type { Break, Memory } from './broken-storage.ts'

/** With a `freeKey` that is done otherwise. */
function freeing(change: (memory: Memory) => (request: KeyFree) => Freed): Break {
  return (memory) => ({ runs: { freeKey: change(memory) } })
}

type Freed = KeyFreed | 'stale' | undefined

function freed(memory: Memory, request: KeyFree): Freed {
  return memory.runs.freeKey?.(request)
}

/** Whether a run was found, as opposed to none, or to an attempt that was refused. */
function isFound(answer: Freed): answer is KeyFreed {
  return typeof answer === 'object'
}

export const brokenFreedKeys: Readonly<Record<string, Break>> = {
  'runs.freeKey/answers-its-holder': freeing((memory) => (request) => {
    const answer = freed(memory, request)
    return isFound(answer) ? { ...answer, isFreed: true } : answer
  }),
  // The key expires at the instant of the call.
  'runs.freeKey/frees-for-every-clock': (memory) => {
    const ends = new Map<string, number>()
    return {
      runs: {
        freeKey(request) {
          const answer = freed(memory, request)
          if (isFound(answer) && answer.isFreed) ends.set(answer.runId, request.now)
          return answer
        },
        insert(request) {
          const { key } = request.record
          const last = memory.runs
            .list({}, { limit: 100 })
            .records.find((one) => one.key?.value === key?.value && ends.has(one.id))
          const isHeld = last !== undefined && request.now < (ends.get(last.id) ?? 0)
          return isHeld ? { record: last, isCached: true } : memory.runs.insert(request)
        },
      },
    }
  },
  'runs.freeKey/changes-nothing-else': freeing((memory) => (request) => {
    const answer = freed(memory, request)
    if (!isFound(answer)) return answer
    const expected = { status: ['EXECUTING'] } as const
    memory.runs.update({ id: answer.runId, expected, change: { tags: [] }, by: 'x', now: request.now })
    return answer
  }),
  'runs.freeKey/stale-fence': freeing(
    (memory) => (request) => freed(memory, { ...request, fence: undefined }),
  ),
  // The runs that the holder has the key from hold it again.
  'runs.freeKey/frees-for-all-runs': (memory) => {
    const given = new Set<string>()
    return {
      runs: {
        insert(request) {
          if (request.instead !== undefined) given.add(request.instead)
          return memory.runs.insert(request)
        },
        freeKey(request) {
          const answer = freed(memory, request)
          const [older] = given
          if (!isFound(answer) || answer.isFreed || older === undefined) return answer
          given.clear()
          return { runId: older, isFreed: true }
        },
      },
    }
  },
  // Whether the key is held is looked at a turn before it is freed.
  'overlap/of-a-key-that-is-freed': (memory) => ({
    runs: {
      async freeKey(request) {
        const { scope, value } = request.key
        const { records } = memory.runs.list({}, { limit: 1_000 })
        const last = records.find(({ key }) => key?.scope === scope && key.value === value)
        const isHeld = last !== undefined && request.now < (last.key?.expiresAt ?? Infinity)
        await turn()
        const answer = freed(memory, request)
        return isFound(answer) ? { ...answer, isFreed: isHeld } : answer
      },
    },
  }),
}
