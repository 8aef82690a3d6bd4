import { defineConfig } from '@trigger.dev/sdk'

export default defineConfig({
  project: 'proj_example',
  dirs: ['./src/trigger'],
  maxDuration: 3_600,
  logLevel: 'info',
  retries: { enabledInDev: false, default: { maxAttempts: 3, factor: 2, randomize: true } },
  init: async ({ ctx, task }) => ({ label: `${task} ${ctx.run.id}` }),
  onStart: async ({ payload, ctx, task }) => console.log(task, ctx.attempt.number, payload),
  onSuccess: async ({ output, task }) => console.log(task, output),
  onFailure: async ({ error, ctx }) => console.error(ctx.environment.slug, error),
  build: {
    external: ['sharp'],
    extensions: [
      {
        name: 'own',
        externalsForTarget: (target) => (target === 'dev' ? [] : ['pg']),
        onBuildStart: (context) => console.log(context.target),
        onBuildComplete: async (context, manifest) => console.log(context.target, manifest.files.length),
      },
    ],
  },
})
