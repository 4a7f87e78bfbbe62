require "rails_helper"

RSpec.describe "Feeds", type: :request do
  let(:headers) { { "Accept" => "application/json" } }

  describe "GET /feeds" do
    before { create_list(:feed, 2) }

    it "returns all feeds" do
      get "/feeds", headers: headers
      expect(response.parsed_body.size).to eq(2)
    end

    it "answers with 200" do
      get "/feeds", headers: headers
      expect(response).to have_http_status(:ok)
    end
  end

  describe "POST /feeds" do
    context "with a valid address" do
      let(:params) { { url: "https://example.org/feed" } }

      it "creates a feed" do
        expect { post "/feeds", params: params, headers: headers }.to change(Feed, :count).by(1)
      end
    end

    context "without an address" do
      let(:params) { {} }

      it "answers with 422" do
        post "/feeds", params: params, headers: headers
        expect(response).to have_http_status(:unprocessable_entity)
      end
    end

    context "when signed out" do
      let(:headers) { {} }
      let(:params) { {} }

      it "redirects to the login" do
        post "/feeds", params: params, headers: headers
        expect(response).to redirect_to("/login")
      end
    end
  end
end
