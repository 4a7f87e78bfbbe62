require "rails_helper"

RSpec.describe UsersController, type: :controller do # !26
  let(:user) { create(:user) }

  describe "GET #show" do
    it "should return http success" do # !19
      get :show, params: { id: user.id }
      expect(response).to have_http_status(:ok)
    end

    it "assigns the user and renders the template" do # !3
      get :show, params: { id: user.id }
      expect(assigns(:user)).to eq(user)
      expect(response).to render_template(:show)
    end
  end

  describe "POST #create" do
    context "invalid params" do # !20 !7
      it "does not create a user" do
        expect { post :create, params: { user: { name: "" } } }.not_to change(User, :count)
      end
    end

    context "valid params" do # !20
      it "creates a user" do
        expect { post :create, params: { user: { name: "Ann" } } }.to change(User, :count).by(1)
      end
    end
  end
end
