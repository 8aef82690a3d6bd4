export {
  type DefineTaskTest,
  taskTest,
  type TaskTest,
  type TaskTestBody,
  type TaskTestContext,
} from './testing/vitest/task-test.ts'
export { matchers, type RunMatchers } from './testing/vitest/matchers.ts'
