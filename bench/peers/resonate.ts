import type { Draft, Review, Verdict } from '../bare/approvals.ts'
import { turn } from '../turn.ts'
import { FirstPass } from './first-pass.ts'
import { importPeer } from './installed.ts'
import type { Peer } from './peer.ts'

interface Context {
  readonly id: string
  promise(): Promise<Verdict> & { readonly id: string }
}

interface Resonate {
  register(name: string, review: (context: Context, draft: Draft) => Promise<Review>): void
  run(id: string, name: string, draft: Draft): Promise<{ result(): Promise<Review> }>
  readonly promises: { resolve(id: string, value: { readonly data: string }): Promise<unknown> }
  stop(): Promise<void>
}

interface ResonateModule {
  readonly Resonate: new () => Resonate
}

/** Resonate with the server inside its SDK, which is the default without a URL. */
export const resonate: Peer = {
  name: 'Resonate, local',
  packageName: '@resonatehq/sdk',
  place: 'memory',
  leastNode: 22,
  async open() {
    const { Resonate } = await importPeer<ResonateModule>('@resonatehq/sdk/async')
    const firstPass = new FirstPass()
    const engine = new Resonate()
    engine.register('review', async (context, { doc }) => {
      const verdict = context.promise()
      firstPass.say(context.id, verdict.id)
      const { approved } = await verdict
      firstPass.forget(context.id)
      return { doc, approved }
    })
    let runs = 0
    return {
      trigger: (draft) => engine.run(`run${(runs += 1)}`, 'review', draft),
      complete: (id, verdict) => engine.promises.resolve(id, { data: encode(verdict) }),
      asked: async () => {
        const id = await firstPass.next()
        // Its promise is created in the turn after it gets its name.
        await turn()
        return id
      },
      parked: turn,
      close: () => engine.stop(),
    }
  },
}

/** Encodes like the codec of Resonate. */
function encode(verdict: Verdict): string {
  return Buffer.from(JSON.stringify(verdict)).toString('base64')
}
