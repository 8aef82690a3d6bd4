import { runInThisContext } from 'node:vm'
import { minifySync as minifyBySwc, transformSync as transformBySwc } from '@swc/wasm'
import { transformSync, type TransformOptions } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { digestOfCode } from '../../src/primitives/code-digest.ts'

type Tool = (module: string) => string

const byEsbuild =
  (options: TransformOptions): Tool =>
  (module) =>
    transformSync(module, { loader: 'ts', format: 'esm', target: 'node20', ...options }).code

const bySwc =
  (options: { readonly minify: boolean; readonly compress?: boolean }): Tool =>
  (module) => {
    const { minify, compress = true } = options
    const jsc = { target: 'es2022', parser: { syntax: 'typescript' } } as const
    const { code } = transformBySwc(module, { isModule: true, jsc })
    return minify ? minifyBySwc(code, { compress, mangle: true, module: true }).code : code
  }

/** The tools that leave the digest as it is, with all that they do. */
const TOOLS: Readonly<Record<string, Tool>> = {
  'esbuild that minifies': byEsbuild({ minify: true }),
  'esbuild for an older target': byEsbuild({ target: 'es2020' }),
  swc: bySwc({ minify: false }),
  'swc that minifies without compressing': bySwc({ minify: true, compress: false }),
}

/** As tsx calls it. */
const tsx = byEsbuild({ keepNames: true, minifyWhitespace: true })

/** What a tool makes of a function, with the names it may refer to. */
function made(source: string, tool: Tool): () => unknown {
  const module = `import { once, wait, child } from 'waitpoint'; export default ${source}`
  const code = tool(module)
  const name = /export\s*\{\s*([\w$]+) as default\s*,?\s*\}/.exec(code)?.[1]
  const text = code
    .replace(/import\s*\{[^}]*\}\s*from\s*["']waitpoint["'];?/, '')
    .replace(/export default\s*/, 'return ')
    .replace(/export\s*\{[^}]*\};?/, `return ${name}`)
  // The text is that of this file, as the bundler wrote it. It is made, and not called.
  return runInThisContext(`(() => {${text}\n})()`) as () => unknown
}

const digest = (source: string, minify = false): string => digestBy(source, byEsbuild({ minify }))
const digestBy = (source: string, tool: Tool): string => digestOfCode(made(source, tool))

const FUNCTIONS: Readonly<Record<string, string>> = {
  'awaits in a row': `async (order: { id: string; cents: number }) => {
    // The manager decides first.
    const token = await wait.createToken({ timeout: '24h', tags: ['manager', \`order-\${order.id}\`] })
    const answer = await wait.forToken<boolean>(token).unwrap()
    return { answer, paid: order.cents }
  }`,
  'an if': `async (order) => {
    if (order.cents > 10_000) {
      await wait.for({ days: 1 })
    }
    return wait.createToken({ tags: ['late'], retry: true, other: false, none: undefined })
  }`,
  'a loop': `async (people) => {
    const answers = []
    for (const [at, person] of people.entries()) {
      const token = await wait.createToken({ name: 'ask ' + at, timeout: "7d" })
      answers.push(await wait.forToken(token))
    }
    for (let day = 0; day < 3; day += 1) await wait.for({ days: 0.5, hours: 1000 })
    return answers
  }`,
  templates: `async (person) => {
    await once('mail', () => person.send(\`Dear \${person.names.map((name) => \`<\${name}>\`).join(', ')}, it's "late"\\n\`))
    await wait.createToken({ tags: [\`plain\`, 'it\\'s', 'caf\\u00e9', "\\ttab"] })
  }`,
  'optional chaining': `async (order, { ctx, ...others }) => {
    const limit = order?.customer?.limit ?? 5
    const state = order.state === undefined ? await child.triggerAndWait(order) : others
    return [limit, state, ...ctx.run.tags, order.text.replace(/['"\`/]+/g, '')]
  }`,
  'flows side by side': `async function run(people) {
    const ask = async (person) => (await wait.forToken(await wait.createToken({ tags: [person] }))).output
    return Promise.all(people.map(async (person) => ask(person)))
  }`,
}

describe('digestOfCode', () => {
  it.each(
    Object.entries(TOOLS).flatMap(([name, tool]) =>
      Object.entries(FUNCTIONS).map(([what, source]) => [what, name, source, tool] as const),
    ),
  )('is equal for a source and for what a tool makes of it: %s, by %s', (_what, _name, source, tool) => {
    expect(digestBy(source, tool)).toBe(digest(source))
  })

  const { 'flows side by side': withHelper = '', ...withoutHelpers } = FUNCTIONS

  it.each(Object.entries(withoutHelpers))(
    'is equal by tools that keep names, and by swc that compresses, for a function without inner ones: %s',
    (_what, source) => {
      for (const tool of [tsx, bySwc({ minify: true })]) expect(digestBy(source, tool)).toBe(digest(source))
    },
  )

  it('is another one where a tool keeps the names of inner functions, as tsx does', () => {
    expect(digestBy(withHelper, tsx)).not.toBe(digest(withHelper))
    // Two deployments by one tool agree.
    expect(digestBy(withHelper, tsx)).toBe(digestBy(`${withHelper} // more`, tsx))
  })

  it('is another one for each function', () => {
    const digests = Object.values(FUNCTIONS).map((source) => digest(source))
    expect(new Set(digests).size).toBe(digests.length)
  })

  const legal = `await wait.forToken(await wait.createToken({ timeout: '24h', tags: ['legal'] }))`
  const manager = `await wait.forToken(await wait.createToken({ timeout: '24h', tags: ['manager'] }))`
  const flow = (...lines: readonly string[]): string => `async () => { ${lines.join('\n')} }`

  it.each([
    ['a question is inserted', flow(legal, legal, manager)],
    ['a question is deleted', flow(manager)],
    ['questions are swapped', flow(manager, legal)],
    ['its tags change', flow(legal, manager.replace('manager', 'director'))],
    ['its time-out changes', flow(legal.replace('24h', '48h'), manager)],
    ['a call of the engine is another one', flow(legal.replace('forToken', 'retrieveToken'), manager)],
    ['a sleep is inserted', flow(legal, 'await wait.for({ days: 1 })', manager)],
  ])('is another one when %s', (_what, changed) => {
    expect(digest(changed)).not.toBe(digest(flow(legal, manager)))
    expect(digest(changed, true)).not.toBe(digest(flow(legal, manager), true))
  })

  it('tells numbers apart, 0 and 1 too', () => {
    const digests = [0, 1, 2, 1.5].map((days) => digest(flow(`await wait.for({ days: ${days} })`)))
    expect(new Set(digests).size).toBe(4)
    expect(digest(flow('await wait.for({ days: 0.5 })'), true)).toBe(
      digest(flow('await wait.for({ days: 0.50 })')),
    )
  })

  it('does not say how variables are called, where lines end and what comments say', () => {
    const one = `async (order) => { const { id, ...rest } = order; return wait.createToken({ tags: [\`\${id}\`, ...rest.tags] }) }`
    const other = `async (o) => {
      // The order's own tags.
      const { id: key, ...more } = o
      return wait.createToken({ tags: [\`\${key}\`, ...more.tags] /* all of them */ })
    }`
    expect(digest(other)).toBe(digest(one))
  })
})
