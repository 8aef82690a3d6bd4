import { createRoot } from 'react-dom/client'
import { Approval } from './approval.tsx'
import { Composer } from './composer.tsx'
import { Draft } from './draft.tsx'
import { Progress } from './progress.tsx'

/** What an application's server writes into its page: here it is in the address. */
const given = new URLSearchParams(location.search)
const baseURL = given.get('api') ?? ''
const run = { runId: given.get('run') ?? '', accessToken: given.get('runAccess') ?? '', baseURL }
const token = { tokenId: given.get('token') ?? '', accessToken: given.get('tokenAccess') ?? '', baseURL }

createRoot(document.body).render(
  <main>
    {run.runId && <Progress {...run} />}
    {run.runId && <Draft {...run} />}
    {run.runId && <Composer {...run} />}
    {token.tokenId && <Approval {...token} />}
  </main>,
)
