// An express application with an engine in it: `npm install waitpoint express`, then
// `SECRET_KEY=… PORT=3000 node main.mjs`. Whoever has the key uses the engine at http://localhost:3000/engine.
import { once } from 'node:events'
import express from 'express'
import { createEngine, metadata, task, wait } from 'waitpoint'
import { createHandler, toNodeListener } from 'waitpoint/http'

const review = task({
  id: 'review',
  run: async ({ doc }) => {
    await metadata.stream('draft', wordsAbout(doc))
    const token = await wait.createToken({ timeout: '1h' })
    metadata.set('approveAt', token.url)
    return await wait.forToken(token).unwrap()
  },
})

/** What a model would write. */
async function* wordsAbout(doc) {
  yield* ['Dear', 'reader', 'of', doc]
}

const app = express()
const server = app.listen(Number(process.env.PORT ?? 3000))
await once(server, 'listening')
const url = `http://localhost:${server.address().port}`

// With the path it is mounted under, the URLs of tokens lead here.
const engine = createEngine({ tasks: [review], baseUrl: `${url}/engine`, secretKey: process.env.SECRET_KEY })

// Before anything that reads bodies, such as express.json(): the handler reads them itself, and bounds them.
app.use('/engine', toNodeListener(createHandler(engine)))

// A route of the application: the page it answers follows the run by its access token.
app.post('/reviews', express.json(), async (request, response) => {
  const run = await engine.trigger(review, { doc: request.body.doc })
  response.status(201).json({ run: run.id, accessToken: run.publicAccessToken })
})

process.once('SIGTERM', async () => {
  server.close()
  await engine.close()
  // Who follows a run that is not over would do so for ever.
  server.closeAllConnections()
})
console.log(url)
