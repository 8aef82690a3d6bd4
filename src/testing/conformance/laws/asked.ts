import type { RunRecord, TokenKind, TokenRecord } from '../../../contract/records.ts'
import type { Law } from '../law.ts'
import { same } from '../sameness.ts'
import { idsOf, type Subject } from '../subject.ts'

const KINDS: readonly TokenKind[] = ['MANUAL', 'SLEEP', 'ONCE', 'BINDING', 'INPUT']

/** The fields of a token or a child that a run has asked for. */
function askedAs(runId: string, value: string): Pick<TokenRecord & RunRecord, 'key' | 'runId'> {
  return { runId, key: { scope: runId, value } }
}

function childOf(runId: string, value: string): Partial<RunRecord> {
  return { parentId: runId, rootId: runId, key: { scope: runId, value } }
}

async function idsAsked(s: Subject, runId: string): Promise<readonly string[]> {
  const { tokens, runs } = await s.storage.runs.asked(runId)
  return [...idsOf(tokens), ...idsOf(runs)]
}

/** Laws of `runs.asked`: the tokens and children that an attempt finds of the attempts before it. */
export const askedLaws: readonly Law[] = [
  {
    id: 'runs.asked/all-kinds',
    law: 'Tokens of every kind and children are answered as they are stored, settled or not, to runs of any status.',
    async check(s) {
      const run = await s.start('r')
      for (const kind of KINDS) {
        const status = kind === 'BINDING' ? 'COMPLETED' : 'WAITING'
        await s.insertToken(`t-${kind}`, { kind, status, ...askedAs('r', kind) })
      }
      await s.settle('t-ONCE', 1)
      const child = await s.start('s', childOf('r', 'child'))
      await s.update(child, { status: 'COMPLETED', outputJson: '2' }, 2)
      await s.insertRun('t', childOf('r', 'another'))
      const tokens: unknown[] = []
      for (const id of ['t-BINDING', 't-INPUT', 't-ONCE', 't-SLEEP', 't-MANUAL'])
        tokens.push((await s.storage.tokens.get(id, s.at(2)))?.record)
      const runs = [await s.storage.runs.get('s'), await s.storage.runs.get('t')]
      same('while it executes', await s.storage.runs.asked('r'), { tokens, runs })
      await s.update(run, { status: 'FAILED' }, 3)
      same('when it is over', await s.storage.runs.asked('r'), { tokens, runs })
    },
  },
  {
    id: 'runs.asked/own-keys-only',
    law: 'What has no key, a key of another scope or one that expires is not answered, nor what others created.',
    async check(s) {
      await s.start('r')
      await s.start('other')
      const key = { scope: 'r', value: 'expires', expiresAt: s.at(900) }
      await s.insertToken('expires', { runId: 'r', key })
      await s.insertToken('no-key', { runId: 'r' })
      await s.insertToken('other-scope', { runId: 'r', key: { scope: 'other', value: 'v' } })
      await s.insertToken('of-another', { runId: 'other', key: { scope: 'r', value: 'of-another' } })
      await s.insertToken('own', askedAs('r', 'own'))
      await s.insertRun('child', { parentId: 'r', rootId: 'r' })
      await s.insertRun('expiring-child', { parentId: 'r', rootId: 'r', key })
      await s.insertRun('other-child', childOf('other', 'v'))
      await s.insertRun('own-child', childOf('r', 'own'))
      same('what it has asked for', await idsAsked(s, 'r'), ['own', 'own-child'])
    },
  },
  {
    id: 'runs.asked/oldest-first',
    law: 'Tokens and children are answered oldest first, those of one instant in the order of their ids.',
    async check(s) {
      await s.start('r')
      const kind = 'SLEEP'
      await s.insertToken('b', { kind, ...askedAs('r', '1') }, 5)
      await s.insertToken('c', { kind, ...askedAs('r', '2') }, 3)
      await s.insertToken('a', { kind, ...askedAs('r', '3') }, 5)
      await s.insertRun('y', childOf('r', '1'), 8)
      await s.insertRun('z', childOf('r', '2'), 6)
      await s.insertRun('x', childOf('r', '3'), 8)
      same('what it has asked for', await idsAsked(s, 'r'), ['c', 'a', 'b', 'z', 'x', 'y'])
    },
  },
  {
    id: 'runs.asked/unknown-run',
    law: 'An unknown run has asked for nothing, whatever the keys of others say.',
    async check(s) {
      await s.insertRun('r', { key: { scope: 'unknown', value: 'v' } })
      await s.insertToken('t', { key: { scope: 'unknown', value: 'v' }, runId: 'unknown' })
      same('what it has asked for', await s.storage.runs.asked('unknown'), { tokens: [], runs: [] })
    },
  },
]
