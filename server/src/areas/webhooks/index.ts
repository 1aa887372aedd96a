export { webhooksArea, webhooksRoutes } from './routes.ts'
export { createWebhooksService } from './service.ts'
