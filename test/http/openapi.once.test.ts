import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createHandler } from 'waitpoint/http'
import { openApiDocument, OPERATIONS } from '../../src/http/openapi.ts'
import { brokenReferences, documentedRoute, openApi, undocumented, unfit } from './documented.ts'
import { request, SECRET, stillEngine, textOf } from './requests.ts'
import { filled, makeWorld, ROUTES } from './route-table.ts'

const documented = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method} ${path}`),
)

describe('docs/openapi.json', () => {
  it('is what the routes say, as are the tables of docs/http-api.md', () => {
    expect(execFileSync(process.execPath, ['scripts/openapi.mjs', '--check'], { encoding: 'utf8' })).toBe('')
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
    expect(openApi).toEqual(openApiDocument(version))
  })

  it('has every route of the handler, and no other', () => {
    // HEAD is asked of GET; for writers it is an operation of its own.
    const routes = ROUTES.map(({ route }) => documentedRoute(route).join(' '))
    const head = 'head /realtime/v1/streams/{runId}/self/{key}'
    expect(documented.toSorted()).toEqual([...routes, head].toSorted())
  })

  it('names each operation once, describes the parameters of each path, and refers to nothing that is not there', () => {
    const ids = OPERATIONS.map(({ id }) => id)
    expect(ids).toEqual([...new Set(ids)])
    for (const [path, methods] of Object.entries(openApi.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      for (const { parameters = [] } of Object.values(methods))
        expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(inPath)
    }
    expect(brokenReferences()).toEqual([])
  })

  it.each(ROUTES.map((row) => [row.route, row] as const))(
    'fits a request that is let through, and its answer: %s',
    async (route, row) => {
      await using world = await makeWorld()
      const url = new URL(`http://engine.test${filled(row.path, world.names)}`)
      expect(unfit(route, { url, body: row.body })).toBeUndefined()
      const asked = request(url.href, {
        method: route.split(' ')[0] ?? '',
        headers: { authorization: `Bearer ${SECRET}` },
        ...(row.body === undefined ? {} : { body: JSON.stringify(row.body) }),
      })
      const response = await world.handler(asked)
      const answer = { status: response.status, headers: response.headers, text: await textOf(response) }
      expect(undocumented(route, answer)).toBeUndefined()
    },
  )

  it('fits runs and tokens in whatever way they ended', async () => {
    const tasks = [
      task({ id: 'well', run: async (payload: unknown) => payload }),
      task({
        id: 'badly',
        run: async () => {
          throw new TypeError('no', { cause: 1 })
        },
      }),
    ]
    await using t = await stillEngine({ tasks })
    const handler = createHandler(t.engine)
    const check = async (route: string, id: string): Promise<void> => {
      const path = route.replace(/:\w+/, id)
      const [method = '', where = ''] = path.split(' ')
      const headers = { authorization: `Bearer ${SECRET}` }
      const response = await handler(request(`http://engine.test${where}`, { method, headers }))
      const { status } = response
      expect([path, status]).toEqual([path, 200])
      expect(
        undocumented(route, { status, headers: response.headers, text: await textOf(response) }),
      ).toBeUndefined()
    }

    const runs = [
      await t.engine.tasks.trigger('well', { a: [1, null] }, { tags: ['a'], metadata: { b: 1 } }),
      await t.engine.tasks.trigger('badly', null, { idempotencyKey: 'k' }),
      await t.engine.tasks.trigger('well', null, { delay: '1h' }),
    ]
    await t.clock.settle()
    await t.engine.runs.cancel(runs[2]!.id)
    for (const run of runs) {
      await run.outcome()
      await check('GET /api/v3/runs/:id', run.id)
      await check('GET /api/v1/runs/:id/result', run.id)
      await check('GET /realtime/v1/runs/:id', run.id)
    }
    await check('GET /api/v1/runs', '')

    const late = await t.engine.wait.createToken({ timeout: '1m', idempotencyKey: 'k', tags: ['b'] })
    const done = await t.engine.wait.createToken()
    await t.engine.wait.completeToken(done, { c: 1 })
    await t.clock.advance('2m')
    for (const { id } of [late, done]) await check('GET /api/v1/waitpoints/tokens/:id', id)
    await check('GET /api/v1/waitpoints/tokens', '')
  })

  it('does not fit what is not documented', () => {
    const route = 'GET /api/v1/runs/:id/metadata'
    const headers = new Headers({ 'content-type': 'application/json' })
    const answer = (status: number, body: unknown): string | undefined =>
      undocumented(route, { status, headers, text: JSON.stringify(body) })
    expect(answer(200, { metadata: { any: 1 } })).toBeUndefined()
    expect(answer(200, { metadata: [] })).toContain('must be object')
    expect(answer(200, { metadata: {}, more: 1 })).toContain('additional properties')
    expect(answer(202, {})).toContain('not documented')
    expect(answer(404, { message: 'gone' })).toContain("must have required property 'error'")
    const url = new URL('http://engine.test/api/v1/runs?page[size]=0')
    expect(unfit('GET /api/v1/runs', { url, body: undefined })).toContain('page[size]')
  })
})
