# frozen_string_literal: true

# Written once by proctor cover. It belongs to the project now.
# Calls actions of controllers with their callbacks, without a server and without templates, and helpers in a view.
require "action_controller/test_case"
require "action_view/testing/resolvers"

module ActionCalls
  # What an action answers.
  Answer = Struct.new(:status, :location, :flash, :body, keyword_init: true)

  # An object with a method for each action: `requests_to(UsersController).show(params: { id: 1 })`.
  def requests_to(controller)
    Object.new.tap do |requests|
      controller.action_methods.each do |action|
        requests.define_singleton_method(action) { |**options| ActionCalls.answer(controller, action, **options) }
      end
    end
  end

  # A view with these helpers, as a controller would make it.
  def view_with(*helpers)
    controller = ApplicationController.new
    controller.request = ActionDispatch::TestRequest.create
    controller.response = ActionDispatch::Response.new
    controller.view_context.tap { |view| view.extend(*helpers) }
  end

  class << self
    def answer(controller, action, verb: :get, params: {}, session: {})
      request = request_for(controller, action, verb, params, session)
      response = controller.make_response!(request)
      instance = controller.new
      instance.prepend_view_path(ActionView::NullResolver.new) if instance.respond_to?(:prepend_view_path)
      I18n.with_locale(I18n.locale) { Time.use_zone(Time.zone) { instance.dispatch(action, request, response) } }
      summary(request, response)
    end

    private

    def request_for(controller, action, verb, params, session)
      request = ActionDispatch::TestRequest.create("REQUEST_METHOD" => verb.to_s.upcase)
      sent = Rack::Utils.parse_nested_query(params.to_query)
      request.path_parameters = { controller: controller.controller_path, action: action }.merge(sent.symbolize_keys)
      request.session = ActionController::TestSession.new(session)
      request
    end

    # The text of a template says nothing about the action.
    def summary(request, response)
      text = response.body unless response.media_type == "text/html"
      Answer.new(status: response.status, location: response.location, flash: request.flash.to_hash, body: text)
    end
  end
end

RSpec.configure { |config| config.include ActionCalls }
