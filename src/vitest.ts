export {
  type DefineTaskTest,
  taskTest,
  type TaskTest,
  type TaskTestBody,
  type TaskTestContext,
} from './testing/task-test.ts'
export { matchers, type RunMatchers } from './testing/vitest-matchers.ts'
