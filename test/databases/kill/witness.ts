/*
 * One of several processes that want the same tokens at the same time, and writes down what each call saw:
 * `witness <place> <history> <name> <tokens> <start>`. All go through the tokens in one order, from `start` on by the
 * time of the machine.
 */
import { manualToken } from '../../../src/testing/conformance/sample-records.ts'
import type { TokenRecord } from '../../../src/contract/records.ts'
import { seededRandom } from '../../../src/clock/seeded-random.ts'
import { pauseReal } from '../../../src/storage/real-timer.ts'
import type { TokenState } from '../../../src/testing/conformance/token-model.ts'
import type { TokenOperation, TokenReply } from '../../../src/testing/conformance/token-history.ts'
import { DEADLINE, writeDown } from './history.ts'
import { endWithParent } from './life.ts'
import { machineTime } from './narrow-place.ts'
import { madeId } from '../../../src/testing/conformance/named-storage.ts'
import { storageAt } from './storage-at.ts'

const [place = '', file = '', name = '', tokens = '', start = ''] = process.argv.slice(2)
const EVERY_US = 4_000
const CALLS = 4

endWithParent()
const { storage } = storageAt(place)
const random = seededRandom(name)
const whole = (below: number): number => Math.floor(random.fraction() * below)

/** The first process creates the token; the others find it by its key. */
async function tokenOf(place: number): Promise<string> {
  const key = { scope: 'history', value: String(place), expiresAt: 2 * DEADLINE }
  const id = madeId('waitpoint', `${name}_${place}`, 1)
  const record = manualToken(id, { key, createdAt: 1, timeoutAt: DEADLINE })
  const inserted = await storage.tokens.insert({ record, now: 1, by: name })
  if (inserted === 'stale') throw new Error('Cannot make a token: without a fence nothing is stale')
  return inserted.record.id
}

async function call(token: string): Promise<void> {
  const isLook = whole(3) === 0
  const now = DEADLINE - 1 + (whole(4) === 0 ? 1 : 0)
  const outputJson = isLook ? undefined : JSON.stringify(`${name} ${machineTime()}`)
  const kind = isLook ? ('look' as const) : ('complete' as const)
  const about = { what: `${kind} of ${name}`, kind, now, outputJson }
  const calledAt = machineTime()
  const reply = isLook ? await look(token, now) : await complete(token, { now, outputJson })
  const operation: TokenOperation = { ...about, calledAt, reply: { answeredAt: machineTime(), ...reply } }
  writeDown(file, { token, operation })
}

type Seen = Omit<TokenReply, 'answeredAt'>

async function look(token: string, now: number): Promise<Seen> {
  const read = await storage.tokens.get(token, now)
  return { ...stateOf(read?.record), won: false, settledNow: read?.settledNow === true }
}

async function complete(
  id: string,
  { now, outputJson }: { readonly now: number; readonly outputJson: string | undefined },
): Promise<Seen> {
  const settled = await storage.tokens.settle({ id, outputJson, now, by: name })
  if (settled === undefined || settled === 'stale') throw new Error(`Cannot complete ${id}: it is not there`)
  return { ...stateOf(settled.record), won: settled.won, settledNow: settled.settledNow }
}

function stateOf(record: TokenRecord | undefined): Pick<TokenReply, 'seen' | 'completedAt'> {
  if (record === undefined) throw new Error('Cannot read a token: it is not there')
  const { status, outputJson, completedAt } = record
  const seen: TokenState = status === 'COMPLETED' ? { status, outputJson } : { status }
  return { seen, completedAt }
}

await storage.open()
for (let index = 0; index < Number(tokens); index += 1) {
  const token = await tokenOf(index)
  const waitUs = Number(start) + index * EVERY_US - machineTime()
  if (waitUs > 0) await pauseReal(waitUs / 1_000)
  await Promise.all(Array.from({ length: CALLS }, () => call(token)))
  await call(token)
}
await storage.leave({ owner: name, now: 1 })
