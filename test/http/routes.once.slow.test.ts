import { describe, expect, it } from 'vitest'
import { inside } from '../../src/core/inside.ts'
import { BatchStore } from '../../src/http/batches/store.ts'
import { Gate } from '../../src/http/access/gate.ts'
import { readLimits } from '../../src/http/limits.ts'
import { AnswerPages } from '../../src/http/answer-pages.ts'
import { createRoutes } from '../../src/http/routes.ts'
import { ask, stillEngine } from './requests.ts'
import {
  type Credential,
  CREDENTIALS,
  expected,
  filled,
  makeWorld,
  ROUTES,
  type RouteRow,
  type World,
} from './route-table.ts'
import { digestOf } from './storage-digest.ts'

/** A world, and all that its storage had when it was looked at last. */
interface Seen {
  readonly world: World
  digest: string
}

async function look(world: World): Promise<Seen> {
  return { world, digest: await digestOf(world.t.engine) }
}

/** Asks one route with one credential, and says what came of it. */
async function tryOne(row: RouteRow, credential: Credential, seen: Seen): Promise<'through' | number> {
  const { t, handler, names, credentials } = seen.world
  const before = seen.digest
  const path = `${row.route.split(' ')[0]} ${filled(row.path, names)}`
  const { status } = await ask(handler, path, { credential: credentials[credential], body: row.body })
  seen.digest = await digestOf(t.engine)
  const hasChanged = seen.digest !== before
  const outcome = status === 401 || status === 403 ? status : 'through'
  expect([row.route, credential, hasChanged]).toEqual([
    row.route,
    credential,
    outcome === 'through' && row.changes === true,
  ])
  return outcome
}

describe('createRoutes', () => {
  it('has the routes of the table, and no others', async () => {
    await using t = await stillEngine()
    const door = inside(t.engine)
    const limits = readLimits()
    const [gate, batches] = [new Gate(door, limits), new BatchStore(door)]
    const turns = door.turns(256)
    const { engine } = t
    const pages = new AnswerPages(door.host, {})
    const app = createRoutes({ engine, stored: engine, inside: door, limits, gate, batches, turns, pages })
    const routes = app.routes.flatMap(({ method, path }) => (method === 'ALL' ? [] : [`${method} ${path}`]))
    const isPreflight = (route: string): boolean => route.startsWith('OPTIONS ')
    const answered = routes.filter((route) => !isPreflight(route))
    expect([...new Set(answered)].sort()).toEqual(ROUTES.map(({ route }) => route).sort())
    expect(routes.filter(isPreflight).sort()).toEqual([
      'OPTIONS /api/v1/runs/:id/stream',
      'OPTIONS /api/v1/tasks/:id/trigger',
      'OPTIONS /api/v1/waitpoints/tokens/:id/complete',
      'OPTIONS /api/v1/waitpoints/tokens/:id/stream',
      'OPTIONS /api/v1/waitpoints/tokens/stream',
      'OPTIONS /realtime/v1/batches/:id',
      'OPTIONS /realtime/v1/runs',
      'OPTIONS /realtime/v1/runs/:id',
      'OPTIONS /realtime/v1/streams/:runId/:key{.+}',
      'OPTIONS /realtime/v1/streams/:runId/input/:stream',
    ])
  })

  it.each(ROUTES.map((row) => [row.route, row] as const))(
    'lets through who may, and changes nothing for anybody else: %s',
    async (_route, row) => {
      // A refused request changes nothing, so that the next one finds what it left.
      await using shared = await makeWorld()
      const seen = await look(shared)
      for (const credential of CREDENTIALS) {
        const outcome = expected(row, credential)
        await using own = outcome === 'through' ? await makeWorld() : undefined
        expect([
          credential,
          await tryOne(row, credential, own === undefined ? seen : await look(own)),
        ]).toEqual([credential, outcome])
      }
    },
  )
})
