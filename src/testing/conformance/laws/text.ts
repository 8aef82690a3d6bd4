import type { RunRecord } from '../../../contract/records.ts'
import type { Law } from '../law.ts'
import { chunkOf, longName, manualToken, queuedRun } from '../sample-records.ts'
import { describeValue, like, same } from '../sameness.ts'
import { A, B, idsOf, type Subject } from '../subject.ts'

/** Characters of three bytes each, in an order in which nothing repeats. */
const LONG = String.fromCharCode(
  ...Array.from({ length: 120 }, (_, at) => 0x4e00 + ((at * at * 7_919 + at) % 20_000)),
)

const WORDS = `a A aa á a\u0301 ß ss ı I % _ a% a_ a* a' a" a\\ $1 / a/ a/b a,b ["a"] {} 0 00 1 1e0 null __proto__ \\u0000`

/**
 * Texts that a storage may take for one another, or for something else than a text: by case, accents, patterns, numbers, separators,
 * quotes, names of JavaScript, white space, or halves of characters.
 */
const TEXTS: readonly string[] = [
  ...WORDS.split(' '),
  ...[
    ' a',
    'a ',
    'a\n',
    'a\0',
    'a\0b',
    'a\r\n\u2028b',
    '\u0001a',
    '😀',
    '😁',
    '\ud83d',
    '\ude00',
    `${LONG}1`,
    `${LONG}2`,
  ],
]

/** Pairs that are equal once their parts are joined, by a separator or by none. */
const PAIRS: readonly (readonly [string, string])[] = ['', ':', '/', '","', '\0'].flatMap((separator) => [
  [`a${separator}b`, 'c'],
  ['a', `b${separator}c`],
])

/** Keys of the greatest length that an engine takes. */
const LONGEST_KEYS: readonly string[] = ['1', '2'].map((end) => `${longName(2_047)}${end}`)

/** Laws of texts: none is changed, and none is taken for another one. */
export const textLaws: readonly Law[] = [
  {
    id: 'texts/records',
    law: 'Texts of a record are stored as given, and records are found under exactly their id.',
    async check(s) {
      for (const [at, text] of TEXTS.entries()) {
        const json = JSON.stringify({ [text]: [text, at] }, null, at % 3)
        const texts = { taskId: text, queue: text, concurrencyKey: text, parentId: text, version: text }
        const jsons = { payloadJson: json, optionsJson: json, metadataJson: json }
        const given = { ...texts, ...jsons, rootId: text, createdAt: s.at(0) }
        const lists = { tags: [text, 'a'], limits: [text, 'a'] }
        await insertAndEnd(s, queuedRun(`r${text}`, { ...given, ...lists }), json)
        const token = manualToken(`t${text}`, { createdAt: s.at(0), runId: text, tags: ['a', text] })
        await s.storage.tokens.insert({ record: token, now: s.at(0), by: text })
        await s.settle(token.id, 1, { outputJson: json })
        const settled = { ...token, status: 'COMPLETED', outputJson: json, completedAt: s.at(1) }
        same(`token ${quoted(text)}`, (await s.storage.tokens.get(token.id, s.at(1)))?.record, settled)
      }
      same('an id that begins as another one', await s.storage.runs.get(`r${LONG}`), undefined)
      const page = { limit: 2 * TEXTS.length }
      const runs = await s.storage.runs.list({}, page)
      same('all runs', idsOf(runs.records).sort(), TEXTS.map((text) => `r${text}`).sort())
      const long = `${LONG}1`
      const listed = runs.records.find(({ id }) => id === `r${long}`)
      like('one of them', listed, { tags: [long, 'a'], limits: [long, 'a'] })
      const tokens = await s.storage.tokens.list({ kind: 'MANUAL' }, page, s.at(1))
      same('all tokens', idsOf(tokens.records).sort(), TEXTS.map((text) => `t${text}`).sort())
    },
  },
  {
    id: 'texts/keys',
    law: 'Keys with another value or another scope are different keys.',
    async check(s) {
      const { runs, tokens } = s.storage
      const all = [
        ...[...TEXTS, ...LONGEST_KEYS].map((value) => ({ scope: 'scope', value })),
        ...TEXTS.map((scope) => ({ scope, value: 'value' })),
        ...PAIRS.map(([scope, value]) => ({ scope, value })),
      ]
      const keys = all.map((key) => ({ ...key, expiresAt: s.at(100) }))
      for (const [at, key] of keys.entries()) {
        const stored = { isCached: false, record: { id: `${at}`, key } }
        like(`a run with key ${describeValue(key)}`, await s.insertRun(`${at}`, { key }), stored)
        like(`a token with key ${describeValue(key)}`, await s.insertToken(`${at}`, { key }), stored)
      }
      for (const [at, key] of keys.entries()) {
        const held = { isCached: true, record: { id: `${at}` } }
        like(`the run of key ${describeValue(key)}`, await s.insertRun('other', { key }), held)
        like(`the token of key ${describeValue(key)}`, await s.insertToken('other', { key }), held)
        const { records } = await tokens.list({ kind: 'MANUAL', key }, { limit: 5 }, s.at(0))
        same(`a list by key ${describeValue(key)}`, idsOf(records), [`${at}`])
        if (runs.freeKey === undefined) continue
        const freed = await runs.freeKey({ key, now: s.at(1), by: A })
        same(`key ${describeValue(key)}, freed`, freed, { runId: `${at}`, isFreed: true })
      }
    },
  },
  {
    id: 'texts/names',
    law: 'Tags, tasks, owners and ids of tokens are compared as a whole.',
    async check(s) {
      const { runs, tokens, counts } = s.storage
      const waiting = await s.start('waiting', { taskId: 'task' })
      for (const [at, text] of TEXTS.entries()) {
        await s.tick(text, 0, { leaseUntil: s.at(100) })
        await s.insertRun(`r${at}`, { tags: [text, `more ${at}`], taskId: text, queue: text })
        await s.insertToken(`t${text}`, { tags: [`more ${at}`, text] })
        await s.wait(waiting, `t${text}`)
      }
      for (const [at, text] of TEXTS.entries()) {
        const [tags, taskIds, what] = [[text], [text], quoted(text)]
        const [ofTag, ofTask] = [
          await runs.list({ tags }, { limit: 5 }),
          await runs.list({ taskIds }, { limit: 5 }),
        ]
        same(`runs with tag ${what}`, idsOf(ofTag.records), [`r${at}`])
        same(`runs of task ${what}`, idsOf(ofTask.records), [`r${at}`])
        const others = (await runs.list({ notTaskIds: taskIds }, { limit: 100 })).records
        same(`number of runs of other tasks than ${what}`, others.length, TEXTS.length)
        const tagged = await tokens.list({ kind: 'MANUAL', tags }, { limit: 5 }, s.at(0))
        same(`tokens with tag ${what}`, idsOf(tagged.records), [`t${text}`])
        like(`a read with tag ${what}`, await runs.get(`r${at}`, { taskIds: [], tags }), { id: `r${at}` })
        const other = `r${(at + 1) % TEXTS.length}`
        same(`another run with tag ${what}`, await runs.get(other, { taskIds: [], tags }), undefined)
        same(`another run with task ${what}`, await runs.get(other, { taskIds, tags: [] }), undefined)
        if (counts !== undefined)
          like(`runs counted by tag ${what}`, await counts.runs({ tags }, 9), { QUEUED: { count: 1 } })
        const claimed = await s.claim({ by: text, number: 1, taskIds })
        like(`the claim of task and owner ${what}`, claimed.runs, [{ id: `r${at}`, owner: text }])
        like(`the run of owner ${what}`, await runs.get(`r${at}`), { owner: text })
        const settled = await s.settle(`t${text}`)
        like(`the waits for token ${what}`, settled, { won: true, ready: [{ tokenId: `t${text}` }] })
      }
      for (const owner of TEXTS.slice(1)) await s.leave(owner, 2)
      like('a run of the owner that stays', await runs.get('r0'), { owner: 'a' })
      like('a run of one that left', await runs.get('r1'), { owner: undefined })
    },
  },
  {
    id: 'texts/queues',
    law: 'A queue is told apart by its name, and a concurrency key counts within its queue.',
    async check(s) {
      const lanes = [...PAIRS, ['A', 'c'], ['a b', 'C'], ['a%', 'c'], ['a_', 'c']] as const
      const queueLimits = new Map(lanes.map(([queue]) => [queue, 1]))
      for (const place of ['first', 'second'])
        for (const [at, [queue, concurrencyKey]] of lanes.entries())
          await s.insertRun(`${at} ${place}`, { queue, concurrencyKey })
      const claimed = await s.claim({ queueLimits, limit: 100 })
      same('one of each', idsOf(claimed.runs).sort(), Array.from(lanes.keys(), (at) => `${at} first`).sort())
      const { queues } = s.storage
      if (queues === undefined) return
      for (const [at, name] of TEXTS.entries()) await queues.set({ name, limit: at + 1, now: s.at(0), by: A })
      for (const [at, name] of TEXTS.entries())
        like(`what is set of queue ${quoted(name)}`, await queues.get(name), { name, limit: at + 1 })
      same('all of them', (await queues.list()).map(({ name }) => name).sort(), [...TEXTS].sort())
    },
  },
  {
    id: 'texts/streams',
    law: 'Streams of a run are told apart by their keys, and writers by their names; chunks are stored as given.',
    async check(s) {
      const { chunks } = s.storage
      const { epoch } = await s.start('r')
      const attempt = { runId: 'r', epoch, by: A }
      for (const [at, key] of TEXTS.entries()) {
        await chunks.open({ ...attempt, key, attempt: 1, now: s.at(0) })
        const written = [
          { writer: key, last: at },
          { writer: 'every', last: 1_000 + at },
        ]
        const append = { ...attempt, key, first: 0, chunks: [chunkOf(key)], written }
        await chunks.append({ ...append, history: { chunks: 100, bytes: 100_000 } })
      }
      for (const [at, key] of TEXTS.entries()) {
        const one = { runId: 'r', key, from: 0, limit: 5 }
        like(`the writer of stream ${quoted(key)}`, await chunks.read({ ...one, writer: key }), {
          stream: { key, next: 1 },
          chunks: [{ text: JSON.stringify(key), value: key }],
          written: at,
        })
        const stranger = TEXTS[(at + 1) % TEXTS.length] ?? ''
        const others = [
          await chunks.read({ ...one, writer: 'every' }),
          await chunks.read({ ...one, writer: stranger }),
        ]
        same(
          `other writers of stream ${quoted(key)}`,
          others.map((read) => read?.written),
          [1_000 + at, undefined],
        )
      }
      same('the keys', (await s.storage.runs.get('r'))?.streams, TEXTS)
      same('the keys, in a list', (await s.storage.runs.list({}, { limit: 1 })).records[0]?.streams, TEXTS)
      for (const text of TEXTS) {
        const run = await s.start(`r${text}`)
        const stream = { runId: run.id, key: 'k', epoch: run.epoch, by: A }
        await chunks.open({ ...stream, attempt: 1, now: s.at(0) })
        like(`the stream of run ${quoted(text)}`, await chunks.read({ ...stream, from: 0, limit: 1 }), {
          stream: { runId: run.id },
        })
      }
    },
  },
  {
    id: 'texts/settings',
    law: 'Settings, marks and schedules are stored under exactly their name, as given.',
    async check(s) {
      const { runs, settings, schedules } = s.storage
      for (const [at, scope] of TEXTS.entries()) {
        const record = queuedRun(`run ${at}`, { createdAt: s.at(0), key: { scope, value: 'value' } })
        await runs.insert({ record, mark: s.at(at), now: s.at(0), by: A })
      }
      same(
        'marks',
        await runs.marks(TEXTS),
        TEXTS.map((_, at) => s.at(at)),
      )
      for (const text of TEXTS) await settings.getOrInsert(text, text)
      for (const text of TEXTS)
        same(`setting ${quoted(text)}`, await settings.getOrInsert(text, 'other'), text)
      if (schedules === undefined) return
      for (const text of TEXTS) await schedules.put({ id: text, text, by: A })
      for (const text of TEXTS) same(`schedule ${quoted(text)}`, await schedules.get(text), text)
      same('all schedules', idsOf((await schedules.list())?.schedules ?? []).sort(), [...TEXTS].sort())
      for (const text of TEXTS) {
        const isPut = await schedules.put({ id: text, expected: text, text: `${text}!`, by: A })
        same(`schedule ${quoted(text)}, changed`, [isPut, await schedules.get(text)], [true, `${text}!`])
      }
    },
  },
]

/** Ends a run with a text in each field that an end has, and reads it. */
async function insertAndEnd(s: Subject, record: RunRecord, json: string): Promise<void> {
  await s.storage.runs.insert({ record, now: s.at(0), by: B })
  const change = { status: 'CANCELED', outputJson: json, errorJson: json, attemptsJson: json } as const
  const expected = { status: ['QUEUED'] } as const
  await s.storage.runs.update({ id: record.id, expected, change, by: A, now: s.at(1) })
  const ended = { ...record, ...change, finishedAt: s.at(1), updatedAt: s.at(1) }
  same(`run ${quoted(record.id)}`, await s.storage.runs.get(record.id), ended)
}

function quoted(text: string): string {
  return JSON.stringify(text.length < 40 ? text : `${text.slice(0, 9)}…${text.slice(-9)}`)
}
